! Large arrays that a routine initialises: it is the first to touch them, and pays for that.
module work
  implicit none
contains
  subroutine initialise(field, n)
    integer, intent(in) :: n
    double precision, intent(out) :: field(n)
    integer :: i
    do i = 1, n
      field(i) = dble(i) ! line initialise
    end do
  end subroutine initialise

  subroutine add(field, n, total)
    integer, intent(in) :: n
    double precision, intent(in) :: field(n)
    double precision, intent(inout) :: total
    integer :: i
    do i = 1, n
      total = total + field(i)
    end do
  end subroutine add
end module work

program initialises
  use work
  implicit none
  integer, parameter :: n = 512 * 1000
  double precision, allocatable :: a(:), b(:)
  double precision :: total
  total = 0
  allocate (a(n), b(n))
  call initialise(a, n)
  call initialise(b, n)
  call add(a, n, total)
  call add(b, n, total)
  if (total < 0) stop 1
end program initialises
